"""Programs for those who work on longwire; the service needs none of them."""
