import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { DEFAULT_ENDPOINT, parseEndpoint } from "./endpoint.ts";

describe("spellings of one endpoint", () => {
  test.each([
    [DEFAULT_ENDPOINT, "unix:\0crossplane/fn/default.sock"],
    ["unix:@crossplane/fn/default.sock", "unix:\0crossplane/fn/default.sock"],
    ["unix-abstract:crossplane/fn/default.sock", "unix:\0crossplane/fn/default.sock"],
    ["@crossplane/fn/default.sock", "unix:\0crossplane/fn/default.sock"],
    ["unix:///run/xfn/runner.sock", "unix:/run/xfn/runner.sock"],
    ["unix:/run/xfn/runner.sock", "unix:/run/xfn/runner.sock"],
    ["unix:/run//xfn/../xfn/runner.sock", "unix:/run/xfn/runner.sock"],
    ["unix:runner.sock", `unix:${resolve("runner.sock")}`],
    ["dns:///runner.example.org:9443", "dns:///runner.example.org:9443"],
    ["dns:runner.example.org:9443", "dns:///runner.example.org:9443"],
    ["runner.example.org:9443", "dns:///runner.example.org:9443"],
    ["127.0.0.1:0", "ipv4:127.0.0.1:0"],
    ["ipv4:10.0.0.1:80", "ipv4:10.0.0.1:80"],
    ["[::1]:9443", "ipv6:[::1]:9443"],
    ["dns:///[::1]:9443", "ipv6:[::1]:9443"],
    ["ipv6:[fd00::1]:9443", "ipv6:[fd00::1]:9443"],
  ])("%s", (text, target) => {
    expect(parseEndpoint(text)).toMatchObject({ text, target });
  });
});

test.each([
  ["localhost:1", true],
  ["127.1.2.3:1", true],
  ["[::1]:1", true],
  ["dns:///127.0.0.1:1", true],
  ["0.0.0.0:1", false],
  ["[::]:1", false],
  ["localhost.example.org:1", false],
  ["runner:1", false],
])("%s is local: %s", (text, loopback) => {
  expect(parseEndpoint(text)).toMatchObject({ kind: "tcp", loopback });
});

test.each([
  "",
  "unix:",
  "unix:///",
  "unix:/run/",
  "unix:@",
  "@",
  "unix-abstract:",
  "unix://run/x.sock",
  "unix:\0x",
  "unix:/run/a\nb",
  `unix:/${"x".repeat(107)}`,
  `@${"x".repeat(108)}`,
  `@${"ü".repeat(54)}`,
  "/run/xfn/runner.sock",
  "runner.example.org",
  "runner.example.org:",
  "runner.example.org:65536",
  "runner.example.org:-1",
  "dns://8.8.8.8/runner.example.org:9443",
  "ipv4:[::1]:1",
  "ipv4:1.2.3.4:1,1.2.3.5:1",
  "ipv6:1.2.3.4:1",
  "[::1",
  "[1.2.3.4]:1",
  "a b:1",
  "https://runner.example.org:9443",
  "tcp://runner:1",
  ":1",
])("rejects %j and names it", (text) => {
  expect(() => parseEndpoint(text)).toThrow(expect.objectContaining({ code: "InvalidEndpoint", retryable: false }));
});

test("a path of 107 bytes is the longest", () => {
  expect(parseEndpoint(`unix:/${"x".repeat(106)}`)).toMatchObject({ kind: "path" });
  expect(parseEndpoint(`@${"x".repeat(107)}`)).toMatchObject({ kind: "abstract" });
});
