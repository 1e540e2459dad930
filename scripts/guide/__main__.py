"""`make docs`: build the documentation site into the package, from where the service serves it."""

from scripts.guide.build import SITE, build

if __name__ == "__main__":
    pages = build(SITE)
    print(f"{pages} pages; the service serves them at /guide/")
