"""Mails that leave the service: the SMTP client, to whom a group may send, and the texts.

When a mail is sent is decided elsewhere.
"""
