use hotcell_tool::tool;

/// Add two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

hotcell_tool::component!(add, add);

fn main() {}
