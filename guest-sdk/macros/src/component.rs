//! What `component!` becomes.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Error, Path, PathArguments, PathSegment, Token};

/// Expands the list.
pub(crate) fn component(list: TokenStream) -> TokenStream {
    let parse = Punctuated::<Path, Token![,]>::parse_terminated;
    let paths = match syn::parse::Parser::parse2(parse, list) {
        Ok(paths) => paths,
        Err(error) => {
            let message = format!(
                "{error}; `component!` takes the names of functions with `#[tool]`, such as `component!(count, search);`"
            );
            return Error::new(error.span(), message).into_compile_error();
        }
    };
    if let Err(error) = check(&paths) {
        return error.into_compile_error();
    }
    let modules = paths.iter().enumerate().map(|(index, path)| entry(index, path));
    let entries = (0..paths.len()).map(|index| {
        let module = module(index);
        quote!(#module::ENTRY)
    });
    quote! {
        #[doc(hidden)]
        #[allow(unused_imports, non_camel_case_types, dead_code, missing_debug_implementations)]
        mod __hotcell_component {
            #(#modules)*
            pub(super) const ENTRIES: &[::hotcell_tool::__private::Entry] = &[#(#entries),*];
        }

        /// The tools of this component in their order.
        pub const TOOLS: ::hotcell_tool::ToolSet = ::hotcell_tool::ToolSet::new(__hotcell_component::ENTRIES);

        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;
            impl ::hotcell_tool::__private::Component for Component {
                const TOOLS: ::hotcell_tool::ToolSet = TOOLS;
            }
            ::hotcell_tool::__private::export!(Component with_types_in ::hotcell_tool::__private::bindings);
        };
    }
}

fn check(paths: &Punctuated<Path, Token![,]>) -> syn::Result<()> {
    if paths.is_empty() {
        return Err(Error::new(
            Span::call_site(),
            "a component needs at least one tool: list the functions with `#[tool]`, such as `component!(count, search);`",
        ));
    }
    let mut names = BTreeSet::new();
    for path in paths {
        let name = quote!(#path).to_string().replace(' ', "");
        if names.contains(&name) {
            return Err(Error::new_spanned(path, format!("`{name}` is listed twice; take one of them out")));
        }
        names.insert(name);
        if let Some(segment) =
            path.segments.iter().find(|segment| !matches!(segment.arguments, PathArguments::None))
        {
            return Err(Error::new_spanned(segment, "a tool cannot be generic; name a plain function"));
        }
    }
    Ok(())
}

fn module(index: usize) -> syn::Ident {
    format_ident!("tool_{index}")
}

/// Names the type that `#[tool]` puts beside the function.
///
/// A function without the attribute has no such type. To say that in words, a type of that name stands
/// ready behind a glob import, which counts only where the explicit import brings none.
fn entry(index: usize, path: &Path) -> TokenStream {
    let module = module(index);
    let Some(PathSegment { ident, .. }) = path.segments.last() else { return TokenStream::new() };
    let target = from_two_modules_below(path);
    quote! {
        mod #module {
            mod without_attribute {
                pub(super) struct #ident {}
            }
            use without_attribute::*;
            use #target;
            pub(super) const ENTRY: ::hotcell_tool::__private::Entry = ::hotcell_tool::__private::Entry::of::<#ident>();
        }
    }
}

fn from_two_modules_below(path: &Path) -> TokenStream {
    let first = path.segments.first().map(|segment| segment.ident.to_string());
    if path.leading_colon.is_some() || first.as_deref() == Some("crate") {
        return quote!(#path);
    }
    if first.as_deref() == Some("self") {
        let rest = path.segments.iter().skip(1);
        return quote!(super::super::#(#rest)::*);
    }
    quote!(super::super::#path)
}
