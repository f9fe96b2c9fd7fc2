// libcurl loads http and https URLs: HTTP/2, TLS, proxies, authentication, HSTS.
#pragma once

#include <curl/curl.h>
