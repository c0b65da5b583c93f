//! The options of `#[tool(..)]`.

use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

use crate::json;

const KNOWN: &str =
    "`name`, `title`, `read_only`, `destructive`, `idempotent`, `open_world`, `timeout`, `example`";

/// The options, checked.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) examples: Vec<LitStr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            options.read_one(input)?;
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>()?;
        }
        Ok(options)
    }
}

impl Options {
    fn read_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let key: Ident = input.parse()?;
        let value: Option<Expr> = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        match key.to_string().as_str() {
            "name" => {
                let name = text(&key, value)?;
                check_name(&name)?;
                once(&key, &mut self.name, name)
            }
            "title" => once(&key, &mut self.title, text(&key, value)?),
            "read_only" => {
                once(&key, &mut self.read_only, flag(&key, value)?).and_then(|()| self.check_hints(&key))
            }
            "destructive" => {
                once(&key, &mut self.destructive, flag(&key, value)?).and_then(|()| self.check_hints(&key))
            }
            "idempotent" => once(&key, &mut self.idempotent, flag(&key, value)?),
            "open_world" => once(&key, &mut self.open_world, flag(&key, value)?),
            "timeout" => once(&key, &mut self.timeout_ms, milliseconds(&text(&key, value)?)?),
            "example" => {
                let example = text(&key, value)?;
                json::check_object(&example.value()).map_err(|reason| {
                    Error::new(example.span(), format!("the example is not a JSON object: {reason}"))
                })?;
                self.examples.push(example);
                Ok(())
            }
            unknown => {
                Err(Error::new(key.span(), format!("unknown option `{unknown}`; the options are {KNOWN}")))
            }
        }
    }

    fn check_hints(&self, key: &Ident) -> Result<()> {
        if self.read_only == Some(true) && self.destructive == Some(true) {
            return Err(Error::new(
                key.span(),
                "a tool that changes nothing cannot destroy something; take out `read_only` or `destructive`",
            ));
        }
        Ok(())
    }
}

fn once<T>(key: &Ident, place: &mut Option<T>, value: T) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(Error::new(key.span(), format!("`{key}` is given twice; take one of them out")));
    }
    Ok(())
}

fn text(key: &Ident, value: Option<Expr>) -> Result<LitStr> {
    match value {
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(text),
        Some(other) => Err(Error::new(other.span(), format!("expected a text, such as `{key} = \"..\"`"))),
        None => Err(Error::new(key.span(), format!("`{key}` needs a text, such as `{key} = \"..\"`"))),
    }
}

fn flag(key: &Ident, value: Option<Expr>) -> Result<bool> {
    match value {
        None => Ok(true),
        Some(Expr::Lit(ExprLit { lit: Lit::Bool(flag), .. })) => Ok(flag.value),
        Some(other) => Err(Error::new(other.span(), format!("expected `{key}` or `{key} = false`"))),
    }
}

/// Checks the characters every model vendor accepts.
pub(crate) fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
        return Err(Error::new(
            name.span(),
            format!(
                "`{text}` cannot be the name of a tool: 1 to 64 letters a-z and A-Z, digits, `_` and `-` are allowed"
            ),
        ));
    }
    Ok(())
}

fn milliseconds(text: &LitStr) -> Result<u32> {
    let value = text.value();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let parsed = value.split_at_checked(digits).and_then(|(number, unit)| {
        let number: u32 = number.parse().ok()?;
        let factor = match unit.trim_start() {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        number.checked_mul(factor).filter(|total| *total > 0)
    });
    parsed.ok_or_else(|| {
        Error::new(
            text.span(),
            format!("`{value}` is not a timeout; write a whole number above zero and a unit, such as \"500ms\", \"5s\", \"2m\" or \"1h\""),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Options, String> {
        syn::parse_str::<Options>(text).map_err(|error| error.to_string())
    }

    #[test]
    fn options_read_as_they_are_documented() {
        let options = read(r##"read_only, destructive = false, name = "a-B_9", timeout = "2m", example = r#"{"a": 1}"#, example = "{}","##).unwrap();
        assert_eq!(
            (options.read_only, options.destructive, options.idempotent),
            (Some(true), Some(false), None)
        );
        assert_eq!(options.name.unwrap().value(), "a-B_9");
        assert_eq!(options.timeout_ms, Some(120_000));
        assert_eq!(options.examples.len(), 2);
    }

    #[test]
    fn wrong_options_say_what_was_expected() {
        let table = [
            ("readonly", "the options are `name`"),
            ("read_only, read_only", "given twice"),
            ("read_only, destructive", "cannot destroy"),
            (r#"read_only = "yes""#, "`read_only = false`"),
            ("title", "needs a text"),
            ("title = 3", "expected a text"),
            (r#"name = "a b""#, "letters a-z"),
            (r#"name = """#, "1 to 64"),
            (r#"timeout = "5""#, "\"5s\""),
            (r#"timeout = "0s""#, "above zero"),
            (r#"timeout = "1194h""#, "not a timeout"),
            (r#"example = "{""#, "not a JSON object"),
        ];
        for (text, expected) in table {
            let error = read(text).err().unwrap_or_default();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
