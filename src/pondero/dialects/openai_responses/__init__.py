"""OpenAI's Responses API: input and output items, with encrypted thinking among them."""
