"""Who is told what, when and how: from something that happened to words on their way to people.

What is to be sent is put into the queue of the delivery engine, in the transaction that stores what
it is about; nothing here sends by itself, and nothing here speaks HTTP to callers or SQL.
"""
