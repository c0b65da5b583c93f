//! What `#[tool]` becomes.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Ident, ItemFn, LitStr, Result, ReturnType};

use crate::options::{Options, check_name};
use crate::signature::{self, Parameter, Signature};

/// Expands the attribute; a mistake becomes compile errors beside the function.
pub(crate) fn tool(options: TokenStream, function: &TokenStream) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(function.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = syn::Error::new(error.span(), "`#[tool]` stands above a function; move it there")
                .into_compile_error();
            return quote!(#error #function);
        }
    };
    let read = signature::read(&mut function);
    // A model gives all arguments to the function, whether the function consumes them or not.
    let kept = quote!(#[allow(clippy::needless_pass_by_value)] #function);
    let generated = syn::parse2::<Options>(options)
        .and_then(|options| generate(&function, &read?, &options))
        .unwrap_or_else(|error| {
            let error = error.into_compile_error();
            // Inside of an `impl`, where functions have a `self`, no type can stand.
            let stand_in = function.sig.receiver().is_none().then(|| stand_in(&function));
            quote!(#error #stand_in)
        });
    quote!(#kept #generated)
}

fn generate(function: &ItemFn, signature: &Signature, options: &Options) -> Result<TokenStream> {
    let ident = &function.sig.ident;
    let tool_name = match &options.name {
        Some(name) => name.clone(),
        None => LitStr::new(&ident.unraw().to_string(), ident.span()),
    };
    check_name(&tool_name)?;
    let marker = marker(function);
    let conditions = &signature.conditions;
    let Parts { items, schema, decode, arguments } = parts(&signature.parameters);
    let arguments = arguments.into_iter().chain(signature.takes_context.then(|| quote!(__hotcell_context)));
    let (returns, returns_span) = match &signature.returns {
        ReturnType::Default => (quote!(()), ident.span()),
        ReturnType::Type(_, ty) => (quote!(#ty), ty.span()),
    };
    let definition = definition(&tool_name, signature, options);
    let writer = quote_spanned!(returns_span=> (&&&(&&&__hotcell_returned).value()).writer());
    let settle = quote_spanned!(returns_span=> (&&&__hotcell_returned).settle(__hotcell_result));
    // Functions of any name are called in here, so local names stay out of their way.
    Ok(quote! {
        #(#conditions)*
        #marker
        #(#conditions)*
        const _: () = {
            #items

            impl ::hotcell_tool::Tool for #ident {
                const NAME: &'static str = #tool_name;

                #[allow(unused_imports, clippy::needless_borrow)]
                fn definition() -> ::hotcell_tool::Definition {
                    use ::hotcell_tool::__private::{
                        KnownArguments as _, Plain as _, Split as _, Structured as _, Text as _, Unclear as _,
                        Unfit as _, UnknownArguments as _,
                    };
                    let __hotcell_returned = ::hotcell_tool::__private::Returned::<#returns>::new();
                    ::hotcell_tool::Definition { input_schema: #schema, output_schema: (#writer.schema)(), #definition }
                }

                #[allow(unused_imports, unused_variables, clippy::needless_borrow, clippy::let_unit_value, clippy::unit_arg)]
                fn call(
                    __hotcell_text: &str,
                    __hotcell_context: &::hotcell_tool::Context,
                ) -> ::core::result::Result<::hotcell_tool::Output, ::hotcell_tool::Failure> {
                    use ::hotcell_tool::__private::{
                        KnownArguments as _, Plain as _, Split as _, Structured as _, Text as _, Unclear as _,
                        Unfit as _, UnknownArguments as _,
                    };
                    let __hotcell_returned = ::hotcell_tool::__private::Returned::<#returns>::new();
                    let __hotcell_arguments = #decode;
                    let __hotcell_result = #ident(#(#arguments),*);
                    let __hotcell_value = #settle?;
                    (#writer.output)(__hotcell_value)
                }
            }
        };
    })
}

/// The type that stands for the function where types stand.
fn marker(function: &ItemFn) -> TokenStream {
    let (vis, ident) = (&function.vis, &function.sig.ident);
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #[derive(Debug, Clone, Copy)]
        #vis struct #ident {}
    }
}

/// After a mistake: a tool that is complete enough for the rest of the crate to show its own mistakes only.
fn stand_in(function: &ItemFn) -> TokenStream {
    let ident = &function.sig.ident;
    let marker = marker(function);
    quote! {
        #marker
        impl ::hotcell_tool::Tool for #ident {
            const NAME: &'static str = ::core::stringify!(#ident);
            fn definition() -> ::hotcell_tool::Definition { ::core::unreachable!() }
            fn call(
                _: &str,
                _: &::hotcell_tool::Context,
            ) -> ::core::result::Result<::hotcell_tool::Output, ::hotcell_tool::Failure> {
                ::core::unreachable!()
            }
        }
    }
}

/// How the arguments are described, read and passed on.
struct Parts {
    items: TokenStream,
    schema: TokenStream,
    decode: TokenStream,
    arguments: Vec<TokenStream>,
}

fn parts(parameters: &[Parameter]) -> Parts {
    match parameters {
        [only] if only.attributes.iter().all(|attribute| attribute.path().is_ident("doc")) => one(only),
        [] => {
            let Parts { items, decode, .. } = many(&[]);
            let schema = quote!(::hotcell_tool::__private::no_arguments());
            Parts { items, schema, decode, arguments: Vec::new() }
        }
        all => many(all),
    }
}

/// One parameter: its type decides whether it is the arguments or one of them.
fn one(parameter: &Parameter) -> Parts {
    let Parameter { name, ty, attributes } = parameter;
    let key = name.unraw().to_string();
    let lines: Vec<_> = attributes.iter().filter_map(doc_line).collect();
    let description = if lines.is_empty() {
        quote!(::core::option::Option::None)
    } else {
        let text = lines.join("\n");
        let text = text.trim();
        quote!(::core::option::Option::Some(#text))
    };
    let arguments =
        quote_spanned!(ty.span()=> (&&::hotcell_tool::__private::Arguments::<#ty>::new()).reader());
    Parts {
        items: TokenStream::new(),
        schema: quote!((#arguments.schema)(#key, #description)),
        decode: quote!((#arguments.decode)(#key, __hotcell_text)?),
        arguments: vec![quote!(__hotcell_arguments)],
    }
}

/// Several parameters: a struct with a field for each.
fn many(parameters: &[Parameter]) -> Parts {
    let arguments: Ident = format_ident!("__HotcellArguments", span = Span::call_site());
    let fields =
        parameters.iter().map(|Parameter { name, ty, attributes }| quote!(#(#attributes)* #name: #ty));
    let names = parameters.iter().map(|parameter| &parameter.name);
    Parts {
        items: quote! {
            #[derive(::hotcell_tool::__private::serde::Deserialize, ::hotcell_tool::__private::schemars::JsonSchema)]
            #[serde(crate = "::hotcell_tool::__private::serde", deny_unknown_fields)]
            #[schemars(crate = "::hotcell_tool::__private::schemars")]
            struct #arguments { #(#fields),* }
        },
        schema: quote!(::hotcell_tool::__private::of_arguments::<#arguments>()),
        decode: quote!(::hotcell_tool::__private::decode::<#arguments>(__hotcell_text)?),
        arguments: names.map(|name| quote!(__hotcell_arguments.#name)).collect(),
    }
}

fn doc_line(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(meta) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &meta.value else { return None };
    Some(text.value().trim().to_owned())
}

fn definition(name: &LitStr, signature: &Signature, options: &Options) -> TokenStream {
    let description = &signature.description;
    let title = option(options.title.as_ref().map(|title| quote!(::std::string::String::from(#title))));
    let read_only = option(options.read_only);
    let destructive = option(options.destructive);
    let idempotent = option(options.idempotent);
    let open_world = option(options.open_world);
    let timeout = option(options.timeout_ms.map(|ms| {
        let ms = u64::from(ms);
        quote!(::core::time::Duration::from_millis(#ms))
    }));
    let examples = &options.examples;
    quote! {
        name: ::std::string::String::from(#name),
        title: #title,
        description: ::std::string::String::from(#description),
        hints: ::hotcell_tool::Hints {
            read_only: #read_only,
            destructive: #destructive,
            idempotent: #idempotent,
            open_world: #open_world,
        },
        timeout: #timeout,
        examples: ::std::vec![#(::std::string::String::from(#examples)),*],
    }
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
