use hotcell_tool::tool;

struct Archive;

impl Archive {
    /// Search the archive.
    #[tool]
    fn search(&self) {}
}

/// Fetch a page.
#[tool]
async fn fetch() {}

/// Sort some items.
#[tool]
fn sort<T: Ord>(items: Vec<T>) {}

/// Trim a text.
#[tool]
fn trim(text: &str) -> impl Iterator<Item = char> {
    text.trim().chars()
}

/// Delete everything.
#[tool]
extern "C" fn delete() {}

/// Not a function.
#[tool]
struct Counter;

fn main() {}
