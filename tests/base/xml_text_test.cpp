#include "sim/base/xml_text.hpp"

#include <doctest/doctest.h>

using straggler::xml_text;

TEST_CASE("characters with a meaning in XML are written as references, also in attributes") {
  CHECK(xml_text("a < b && c > d") == "a &lt; b &amp;&amp; c &gt; d");
  CHECK(xml_text("<a href=\"x\" title='y'>") == "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;");
  CHECK(xml_text("&amp;") == "&amp;amp;");
  CHECK(xml_text("") == "");
}

TEST_CASE("other text stays, except characters that XML cannot hold") {
  CHECK(xml_text("\xC3\xA4 \xE2\x89\xA4 1 %\tx\r\n") == "\xC3\xA4 \xE2\x89\xA4 1 %\tx\r\n");
  CHECK(xml_text(std::string_view("a\0b\x1b[1m", 7)) ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD[1m");
}
