"""Amazon Bedrock's Converse and ConverseStream: one wire for the models of every maker."""
