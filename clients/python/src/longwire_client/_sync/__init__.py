"""The client without asyncio, made from `_async` by scripts/generate.py."""
