"""The Responses wire of OpenAI: items in and out, with thinking as sealed items among them."""
