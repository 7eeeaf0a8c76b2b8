import { describe, expect, test } from "vitest";
import { mayAuthenticateAt, parseChallenges } from "./auth.ts";

describe("mayAuthenticateAt", () => {
  const at = (realm: string, registryUrl: string, trusted: string[] = []): boolean =>
    mayAuthenticateAt(new URL(realm), new URL(registryUrl), trusted);

  test("accepts the registry's host, known token servers and trusted hosts, by https", () => {
    expect(at("https://auth.docker.io/token", "https://registry-1.docker.io/")).toBe(true);
    expect(at("https://gitlab.com/jwt/auth", "https://registry.gitlab.com/")).toBe(true);
    expect(at("https://r.example:8443/token", "https://r.example/")).toBe(true);
    expect(at("https://auth.example/token", "https://r.example/", ["auth.example"])).toBe(true);
    expect(at("https://auth.example/token", "https://r.example/")).toBe(false);
    expect(at("https://auth.docker.io/token", "https://r.example/")).toBe(false);
    expect(at("https://r.example.evil/token", "https://r.example/")).toBe(false);
    expect(at("http://r.example/token", "https://r.example/")).toBe(false);
  });
});

describe("parseChallenges", () => {
  test.each([
    [
      'Bearer realm="https://a/b?x=1,2",service="s"',
      [{ scheme: "bearer", parameters: { realm: "https://a/b?x=1,2", service: "s" } }],
    ],
    ["Basic realm=r", [{ scheme: "basic", parameters: { realm: "r" } }]],
    [
      'Basic realm="a", Bearer realm="b", scope="c"',
      [
        { scheme: "basic", parameters: { realm: "a" } },
        { scheme: "bearer", parameters: { realm: "b", scope: "c" } },
      ],
    ],
    ['BEARER Realm = "a\\"b"', [{ scheme: "bearer", parameters: { realm: 'a"b' } }]],
    ["", []],
    ["=", []],
    ['Bearer realm="unclosed', [{ scheme: "bearer", parameters: {} }]],
  ])("%s", (header, expected) => {
    const found = parseChallenges(header).map(({ scheme, parameters }) => ({ scheme, parameters: { ...parameters } }));
    expect(found.slice(0, expected.length)).toEqual(expected);
  });

  test("a parameter cannot reach the prototype", () => {
    const [challenge] = parseChallenges('Bearer __proto__="x",realm="r"');
    expect(Object.keys(challenge?.parameters ?? {})).toEqual(["__proto__", "realm"]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });
});
