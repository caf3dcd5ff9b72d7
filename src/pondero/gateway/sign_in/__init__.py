"""Sign-in to the console at an identity provider that speaks OpenID Connect."""
