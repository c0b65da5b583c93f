use hotcell_tool::tool;

struct Found {
    text: String,
}

/// Search the archive.
#[tool(read_only)]
fn search(text: String) -> Found {
    Found { text }
}

/// Search the attic.
#[tool(read_only)]
fn search_attic(text: String) -> Result<String, std::num::ParseIntError> {
    Ok(text)
}

hotcell_tool::component!(search, search_attic);

fn main() {}
