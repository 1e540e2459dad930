"""The client for asyncio. `_sync` is made from these files by scripts/generate.py."""
