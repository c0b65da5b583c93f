//! What can be offered to a model as tools.

use hotcell_agent::{HostTool, Offer};
use thiserror::Error;

/// What a host tool says in place of a policy line: there is no policy file for code of the program itself.
const HOST_TOOL_LINE: &str = "offer the tool with `Offer::with_permission(Permission::Allow)`";

/// Says why something cannot be offered as tools.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OfferError {
    /// A component that cannot be used.
    #[cfg(feature = "sandbox")]
    #[error(transparent)]
    Component(#[from] crate::error::ComponentError),
}

/// Something that can be offered to a model as one tool or several.
pub trait IntoOffers {
    /// The tools, in order.
    ///
    /// # Errors
    /// A component whose grants cannot be opened or whose names or limits are not legal.
    fn into_offers(self) -> Result<Vec<Offer>, OfferError>;
}

impl IntoOffers for Offer {
    fn into_offers(self) -> Result<Vec<Offer>, OfferError> {
        Ok(vec![self])
    }
}

/// With permission `auto`: it asks unless it was declared pure.
impl IntoOffers for HostTool {
    fn into_offers(self) -> Result<Vec<Offer>, OfferError> {
        Ok(vec![Offer::new(self, HOST_TOOL_LINE)])
    }
}

#[cfg(feature = "sandbox")]
impl IntoOffers for crate::Component {
    fn into_offers(self) -> Result<Vec<Offer>, OfferError> {
        Ok(self.offers()?)
    }
}

#[cfg(feature = "sandbox")]
impl IntoOffers for &crate::Component {
    fn into_offers(self) -> Result<Vec<Offer>, OfferError> {
        Ok(self.offers()?)
    }
}

impl<T: IntoOffers> IntoOffers for Vec<T> {
    fn into_offers(self) -> Result<Vec<Offer>, OfferError> {
        self.into_iter().try_fold(Vec::new(), |mut offers, one| {
            offers.extend(one.into_offers()?);
            Ok(offers)
        })
    }
}
