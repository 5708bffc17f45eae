"""The frame around the pages: main window, menus, rail, banner, jobs panel, help. It knows no page."""
