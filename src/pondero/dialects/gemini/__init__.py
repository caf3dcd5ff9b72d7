"""Gemini's generateContent, as the Gemini API, Vertex and Cloud Code Assist speak it."""
