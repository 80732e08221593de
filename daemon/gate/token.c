/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The secret that a sender of alerts has to know: any local user can connect to loopback. */
#include "gate/token.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <fcntl.h>
#include <stdint.h>
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

static bool has_scheme(const char *header, const char *scheme)
{
	return header != NULL && strncasecmp(header, scheme, strlen(scheme)) == 0;
}

static int base64_value(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789+/";
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
	return at != NULL ? (int) (at - alphabet) : -1;
}

/* RFC 4648, 4; ret has 3 bytes for each 4 characters, and one for the NUL. A text that is none ends at its first mistake:
 * it is not the token then. */
static void base64_decode(const char *text, char *ret)
{
	uint32_t bits = 0;
	unsigned n_bits = 0;
	for (int value; (value = base64_value(*text)) >= 0; text++) {
		bits = bits << 6 | (uint32_t) value;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		*ret++ = (char) (bits >> n_bits & 0xff);
	}
	*ret = '\0';
}

/* RFC 7617: everything behind the first colon is the password. */
static bool password_matches(const char *token, const char *encoded)
{
	enum { ENCODED_MAX = 2 * SW_GATE_TOKEN_MAX };
	char decoded[ENCODED_MAX];
	if (strlen(encoded) >= ENCODED_MAX)
		return false;
	base64_decode(encoded, decoded);
	const char *colon = strchr(decoded, ':');
	bool same = same_secret(token, colon != NULL ? colon + 1 : "") && colon != NULL;
	explicit_bzero(decoded, sizeof(decoded));
	return same;
}

bool sw_gate_token_matches(const char *token, const char *header)
{
	static const char bearer[] = "Bearer ", basic[] = "Basic ";
	bool is_basic = has_scheme(header, basic), is_bearer = has_scheme(header, bearer);
	const char *sent = is_bearer  ? header + strlen(bearer)
			   : is_basic ? header + strlen(basic)
				      : "";
	sent += strspn(sent, " ");
	if (is_basic)
		return password_matches(token, sent);
	return same_secret(token, sent) && is_bearer;
}
