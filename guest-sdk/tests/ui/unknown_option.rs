use hotcell_tool::tool;

/// Add two numbers.
#[tool(readonly)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Subtract two numbers.
#[tool(timeout = "5 minutes")]
fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

/// Multiply two numbers.
#[tool(example = "{'a': 2}")]
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

fn main() {}
