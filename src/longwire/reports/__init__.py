"""Reports: files of what a group has stored, sent on a schedule by mail or to a webhook.

Made in the background with the permissions of whoever created one, and sent by the delivery engine.
What is in them is the business of the operations that read the same. No HTTP towards callers, no
SQL.
"""
