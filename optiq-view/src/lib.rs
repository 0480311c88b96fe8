//! Every picture: axes, one palette, tables, and the template of a self-contained page.
