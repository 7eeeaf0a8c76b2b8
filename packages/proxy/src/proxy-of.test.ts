import { expect, test } from "vitest";
import { proxyOf } from "./proxy-of.ts";

const P = "http://p:3128";

test.each([
  ["https://api.example", { HTTPS_PROXY: P }, P],
  ["https://api.example", { https_proxy: "p:3128" }, P],
  ["http://api.example", { HTTPS_PROXY: P }, undefined],
  ["https://api.example", { HTTPS_PROXY: P, NO_PROXY: "other, .example" }, undefined],
  ["https://api.example", { HTTPS_PROXY: P, NO_PROXY: "*" }, undefined],
  ["https://api.example:6443", { HTTPS_PROXY: P, NO_PROXY: "api.example:6443" }, undefined],
  ["https://api.example:6443", { HTTPS_PROXY: P, NO_PROXY: "api.example:443" }, P],
  ["https://notexample", { HTTPS_PROXY: P, NO_PROXY: "example" }, P],
  ["https://127.0.0.1:6443", { HTTPS_PROXY: P }, undefined],
  ["https://[::1]:6443", { HTTPS_PROXY: P }, undefined],
  ["https://10.1.2.3", { HTTPS_PROXY: P, NO_PROXY: "10.0.0.0/8" }, undefined],
  ["https://11.1.2.3", { HTTPS_PROXY: P, NO_PROXY: "10.0.0.0/8" }, P],
  ["https://10.example", { HTTPS_PROXY: P, NO_PROXY: "10.0.0.0/8" }, P],
  ["https://[fd00::1]", { HTTPS_PROXY: P, NO_PROXY: "10.0.0.0/8,fd00::/8" }, undefined],
  ["https://[fd00::1]", { HTTPS_PROXY: P, NO_PROXY: "fd00::1" }, undefined],
  ["https://[fd00::1]:8443", { HTTPS_PROXY: P, NO_PROXY: "[fd00::1]:8443" }, undefined],
  ["https://10.1.2.3", { HTTPS_PROXY: P, NO_PROXY: "10.0.0.0/33,10.0.0.0/,x/8" }, P],
])("%s with %o goes through %s", (url, env, proxy) => {
  expect(proxyOf(url, env)).toBe(proxy);
});
