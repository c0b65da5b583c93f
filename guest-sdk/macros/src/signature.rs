//! The function behind `#[tool]`: what it may look like, and what is read from it.

use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PatType, Result, ReturnType,
    Safety, Type,
};

/// What the function takes and gives.
pub(crate) struct Signature {
    pub(crate) description: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) takes_context: bool,
    pub(crate) returns: ReturnType,
    /// Conditions such as `#[cfg(..)]`, which hold for everything that is generated.
    pub(crate) conditions: Vec<Attribute>,
}

/// One parameter.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// `doc`, `serde` and `schemars`; they move from the function to the struct of its arguments.
    pub(crate) attributes: Vec<Attribute>,
}

/// Reads the function, and takes from its parameters the attributes Rust allows nowhere else but here.
///
/// # Errors
/// Every mistake at once, each at its place with what to do.
pub(crate) fn read(function: &mut ItemFn) -> Result<Signature> {
    let mut problems = Problems(None);
    problems.check_modifiers(function);
    let name = function.sig.ident.to_string();
    let description = description(&function.attrs, function).unwrap_or_else(|error| {
        problems.add(error);
        String::new()
    });
    let mut parameters = Vec::new();
    let mut takes_context = false;
    let count = function.sig.inputs.len();
    for (index, input) in function.sig.inputs.iter_mut().enumerate() {
        match input {
            FnArg::Receiver(receiver) => problems.add(Error::new(
                receiver.span(),
                format!(
                    "a tool has no `self`: each call gets a new instance; make `{name}` a plain function"
                ),
            )),
            FnArg::Typed(typed) if is_context(&typed.ty) => {
                takes_context = true;
                if index + 1 != count {
                    problems.add(Error::new(
                        typed.span(),
                        "`&Context` is the last parameter; move it to the end",
                    ));
                }
            }
            FnArg::Typed(typed) => match parameter(typed) {
                Ok(parameter) => parameters.push(parameter),
                Err(error) => problems.add(error),
            },
        }
    }
    if let ReturnType::Type(_, ty) = &function.sig.output
        && matches!(**ty, Type::ImplTrait(_))
    {
        problems.add(Error::new(
            ty.span(),
            "the result of a tool has a schema, so its type needs a name; write it out instead of `impl ..`",
        ));
    }
    let conditions =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect();
    match problems.0 {
        Some(error) => Err(error),
        None => Ok(Signature {
            description,
            parameters,
            takes_context,
            returns: function.sig.output.clone(),
            conditions,
        }),
    }
}

struct Problems(Option<Error>);

impl Problems {
    fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn check_modifiers(&mut self, function: &ItemFn) {
        let signature = &function.sig;
        if let Some(token) = &signature.asyncness {
            self.add(Error::new(
                token.span(),
                "a tool is a plain function: its guest runs alone and may block; take out `async`",
            ));
        }
        if !signature.generics.params.is_empty() {
            self.add(Error::new(
                signature.generics.span(),
                "a tool cannot be generic: its schema needs types that are known; write the types out",
            ));
        }
        if matches!(signature.safety, Safety::Unsafe(_)) {
            self.add(Error::new(
                signature.span(),
                "a tool is called with arguments nobody checked, so it cannot be `unsafe`; take out `unsafe`",
            ));
        }
        if let Some(abi) = &signature.abi {
            self.add(Error::new(abi.span(), "a tool is a plain Rust function; take out `extern`"));
        }
    }
}

fn description(attributes: &[Attribute], function: &ItemFn) -> Result<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Meta::NameValue(meta) = &attribute.meta else { continue };
        if !meta.path.is_ident("doc") {
            continue;
        }
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else {
            return Err(Error::new(
                meta.value.span(),
                "the description of a tool is written out in its doc comment; macros cannot be used in it",
            ));
        };
        for line in text.value().split('\n') {
            lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
        }
    }
    let description = lines.join("\n").trim().to_owned();
    if description.is_empty() {
        let name = &function.sig.ident;
        return Err(Error::new(
            name.span(),
            format!(
                "the tool `{name}` needs a description: write a doc comment (`/// ..`) above it that tells a model what it does and when to use it"
            ),
        ));
    }
    Ok(description)
}

fn parameter(typed: &mut PatType) -> Result<Parameter> {
    let attributes = std::mem::take(&mut typed.attrs);
    for attribute in &attributes {
        let path = attribute.path();
        if !["doc", "serde", "schemars"].iter().any(|known| path.is_ident(known)) {
            return Err(Error::new(
                attribute.span(),
                "at a parameter of a tool stand doc comments, `#[serde(..)]` and `#[schemars(..)]`; take this attribute out",
            ));
        }
    }
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.clone(),
        // A pattern such as `Args { text }` takes a struct apart, so it has no name and needs none.
        Pat::Struct(_) => Ident::new("args", typed.pat.span()),
        other => {
            return Err(Error::new(
                other.span(),
                format!(
                    "a parameter of a tool needs a name, since a model sees it; write `name: {}`",
                    typed.ty.to_token_stream()
                ),
            ));
        }
    };
    match &*typed.ty {
        Type::Reference(reference) => {
            let target = reference.elem.to_token_stream().to_string();
            let owned = if target == "str" { "String".into() } else { format!("{target} without `&`") };
            Err(Error::new(
                reference.span(),
                format!("arguments are read from JSON and owned by the function; take {owned}"),
            ))
        }
        Type::ImplTrait(ty) => Err(Error::new(
            ty.span(),
            "a tool cannot be generic: its schema needs types that are known; write the type out",
        )),
        ty => Ok(Parameter { name, ty: ty.clone(), attributes }),
    }
}

fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    match &*reference.elem {
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| segment.ident == "Context"),
        _ => false,
    }
}
