"""What the theme's pages lack for readers who use a keyboard or a screen reader."""


def on_post_page(output, page, config):
    output = output.replace('data-md-component="search" role="dialog">', 'data-md-component="search" role="dialog" aria-label="Search">')
    return output.replace("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')  # it scrolls sideways
