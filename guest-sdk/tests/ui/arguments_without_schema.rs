use hotcell_tool::tool;

struct Search {
    text: String,
}

/// Search the archive.
#[tool(read_only)]
fn search(search: Search) -> String {
    search.text
}

hotcell_tool::component!(search);

fn main() {}
