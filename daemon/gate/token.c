/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The secret that a sender of alerts has to know: any local user can connect to loopback. */
#include "gate/token.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <fcntl.h>
#include <string.h>

/* Characters that need no quoting in a header, RFC 6750 §2.1 (b64token). */
static const char token_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789-._~+/=";

int sw_gate_token_load(const char *path, char **ret, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = sw_text_read_at(&text, AT_FDCWD, path, SW_GATE_TOKEN_MAX);
	if (r == -SW_E_IO)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	if (r < 0)
		return sw_fail(err, -r, "%s: it is too long, or memory is short", path);
	const char *data = text.size > 0 ? text.data : "";
	size_t length = strspn(data, token_characters);
	bool ends = data[length] == '\0' || data[length] == '\n' || data[length] == '\r';
	if (!ends)
		return sw_fail(err, SW_E_FORMAT,
			       "%s: a token is letters, digits and -._~+/=", path);
	if (length < SW_GATE_TOKEN_MIN)
		return sw_fail(err, SW_E_FORMAT, "%s: a token has at least %d characters", path,
			       SW_GATE_TOKEN_MIN);
	*ret = strndup(data, length);
	return *ret == NULL ? sw_fail_nomem(err) : 0;
}

/* The time depends on the length of what was sent, which its sender knows, and not on the token. */
static bool same_secret(const char *secret, const char *sent)
{
	size_t secret_length = strlen(secret), sent_length = strlen(sent);
	volatile unsigned char differs = secret_length != sent_length;
	for (size_t i = 0; i < sent_length; i++)
		differs |= (unsigned char) (secret[secret_length == 0 ? 0 : i % secret_length] ^
					    sent[i]);
	return !differs;
}

bool sw_gate_token_matches(const char *token, const char *header)
{
	static const char scheme[] = "Bearer ";
	bool has_scheme = header != NULL && strncasecmp(header, scheme, strlen(scheme)) == 0;
	const char *sent = has_scheme ? header + strlen(scheme) : "";
	return same_secret(token, sent + strspn(sent, " ")) && has_scheme;
}
