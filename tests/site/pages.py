"""The built site as a browser reads it: links, anchors, and what is loaded."""

import html.parser
import os
import re
import urllib.parse

# Attributes whose files a browser loads by itself. A link of `a` is followed by a person.
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("img", "srcset"), ("iframe", "src"), ("source", "src"),
          ("source", "srcset"), ("video", "src"), ("video", "poster"), ("audio", "src"), ("track", "src"), ("embed", "src"),
          ("object", "data"), ("use", "href"), ("image", "href"), ("input", "src"), ("form", "action")}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded, self.base = set(), [], [], ""
        self.style = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.style = tag == "style"
        for name, value in attributes:
            value = value or ""
            if name in ("id", "name"):
                self.ids.add(value)
            elif name == "style":
                self.loaded += addresses(value)
            elif (tag, name) == ("base", "href"):
                self.base = value
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name.removeprefix("xlink:")) in LOADED:
                self.loaded.append(value)

    def handle_data(self, data):
        if self.style:
            self.loaded += addresses(data)


def addresses(style):
    """What a style sheet loads."""
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    return re.findall(r"url\(\s*['\"]?([^'\")\s]+)", style) + re.findall(r"@import\s+['\"]([^'\"]+)", style)


class Site:
    def __init__(self, directory):
        self.directory = directory
        self.pages = {str(file.relative_to(directory)): Page(file.read_text("utf-8")) for file in directory.rglob("*.html")}
        self.styles = {str(file.relative_to(directory)): addresses(file.read_text("utf-8")) for file in directory.rglob("*.css")}

    def external(self):
        """What is loaded from another host."""
        loaded = {name: page.loaded for name, page in self.pages.items()} | self.styles
        return [f"{name}: {address}" for name, all in loaded.items() for address in all
                if re.match(r"(?!data:)[a-z]+:|//", address)]

    def dead(self):
        """Links to files or anchors that are not there, and missing files that are loaded."""
        dead = []
        for name, page in self.pages.items():
            dead += [f"{name}: {address}" for address in page.links + page.loaded if not self.leads(name, page.base, address)]
        for name, all in self.styles.items():
            dead += [f"{name}: {address}" for address in all if not self.leads(name, "", address)]
        return dead

    def leads(self, name, base, address):
        if re.match(r"[a-z]+:", address):
            return True
        path, _, fragment = address.partition("#")
        path = urllib.parse.unquote(path)
        folder = "" if base or path.startswith("/") else os.path.dirname(name)
        target = os.path.normpath(os.path.join(folder, path.lstrip("/"))) if path else name
        if (self.directory / target).is_dir():
            target = os.path.normpath(os.path.join(target, "index.html"))
        if not (self.directory / target).is_file():
            return False
        # The script of the page makes the anchors of its own buttons.
        return not fragment or target not in self.pages or urllib.parse.unquote(fragment) in self.pages[target].ids
