// libcurl, OpenSSL flavour. Its setters and getters are variadic, which Swift cannot call: one inline function for each
// kind of argument.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>
#include <openssl/ssl.h>

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}

// Takes what was received, and returns how much of it was taken: anything less ends the transfer.
typedef size_t (*ccurl_receiver)(char *bytes, size_t one, size_t count, void *context);

static inline CURLcode ccurl_set_receiver(CURL *handle, CURLoption option, ccurl_receiver value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

// The last word on a TLS context before its handshake, whatever other code of this process let the environment set:
// no secrets go to SSLKEYLOGFILE, and keys and signatures have 112 bits of strength or more.
static inline CURLcode ccurl_harden(CURL *handle, void *context, void *unused) {
  (void)handle;
  (void)unused;
  SSL_CTX_set_keylog_callback((SSL_CTX *)context, NULL);
  SSL_CTX_set_security_level((SSL_CTX *)context, 2);
  return CURLE_OK;
}

static inline CURLcode ccurl_set_hardening(CURL *handle) {
  return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, ccurl_harden);
}

#endif
