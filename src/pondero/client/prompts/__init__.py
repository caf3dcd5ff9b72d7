"""What a program passes to a call: messages, attachments, options."""
