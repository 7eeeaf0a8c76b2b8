import { expect, test } from "vitest";
import { findAuth, parsePullSecret } from "./docker-auths.ts";

const find = (auths: object, image: string): unknown =>
  findAuth(parsePullSecret(JSON.stringify({ auths })) ?? new Map(), image);
const ADA = { username: "ada", password: "p" };

test.each([
  ["registry.example.org/team/fn:v1", "registry.example.org"],
  [`registry.example.org/team/fn@sha256:${"0".repeat(64)}`, "https://registry.example.org/v2/"],
  ["registry.example.org:5000/fn", "registry.example.org:5000"],
  ["localhost/fn", "localhost"],
  ["REGISTRY.example.org/fn", "registry.example.org"],
  ["fn", "https://index.docker.io/v1/"],
  ["team/fn:v1", "docker.io"],
  ["docker.io/team/fn", "registry-1.docker.io"],
  ["registry.example.org/team/fn", "registry.example.org/team"],
  ["one.registry.example.org/fn", "*.registry.example.org"],
  ["prefix.kubernetes.io/fn", "prefix.*.io"],
  ["abc.def.kubernetes.io/fn", "*.*.kubernetes.io"],
  ["prefix-good.kubernetes.io/fn", "*-good.kubernetes.io"],
  ["abcabc.example.org/fn", "a*c*c.example.org"],
  ["eu1-docker.example.org:5000/team/fn", "https://eu?-*.example.org:5000/team"],
])("%s gets the credentials of the key %s", (image, key) => {
  expect(find({ [key]: ADA }, image)).toEqual(ADA);
});

test.each([
  ["registry.example.org.evil.example/fn", "registry.example.org"],
  ["evil.example/registry.example.org/fn", "registry.example.org"],
  ["registry.example.org:5001/fn", "registry.example.org:5000"],
  ["registry.example.org:5000/fn", "registry.example.org"],
  ["registry.example.org/teams/fn", "registry.example.org/team"],
  ["team/fn", "registry.example.org"],
  [`${"a".repeat(200)}.example.org/fn`, `${"*a".repeat(100)}b.example.org`],
  ["a.b.example.org/fn", "*.example.org"],
  ["example.org/fn", "*.example.org"],
  ["a.example.org:5000/fn", "a.example.org*"],
  ["a.example.org.evil.example/fn", "*.example.org"],
  ["a.example.org/fn", "a?example.org"],
  ["abc.kubernetes.io/fn", "*.*.kubernetes.io"],
  ["example.org/fn", "*.org"],
  ["a.example.org/fn", "*.*.org"],
  ["a.example.org/fn", "*"],
  ["[::1]:5000/fn", "[::?]:5000"],
  ["oci:/registry.example.org/fn", "registry.example.org"],
  ["Not a name", "docker.io"],
  ["abcab.example.org/fn", "a*c*c.example.org"],
])("%s does not get the credentials of the key %s", (image, key) => {
  expect(find({ [key]: ADA }, image)).toBeUndefined();
});

test("the longest path wins", () => {
  const auths = { "r.example": ADA, "r.example/team": { registrytoken: "t" }, "r.example/team/x": { auth: "eDp5" } };
  expect(find(auths, "r.example/team/fn")).toEqual({ registryToken: "t" });
  expect(find(auths, "r.example/other/fn")).toEqual(ADA);
  expect(
    find({ "*.r.example": { auth: "eDp5" }, "a.r.example": ADA, "a.*.example": { auth: "eDp6" } }, "a.r.example/fn"),
  ).toEqual(ADA);
});

test("auth is decoded, and wins over username and password, as in the kubelet", () => {
  const auth = Buffer.from("bob:open:sesame").toString("base64");
  expect(find({ "r.example": { ...ADA, auth } }, "r.example/fn")).toEqual({ username: "bob", password: "open:sesame" });
});

test("the legacy form is auths alone", () => {
  expect(parsePullSecret(JSON.stringify({ "r.example": ADA }), true)).toEqual(new Map([["r.example", ADA]]));
});

test.each(["", "not JSON: secret", "[]", "null"])("%j is not a pull secret", (text) => {
  expect(parsePullSecret(text)).toBeUndefined();
});

test.each(['{"auths":5}', '{"auths":{"r.example":{}}}', "{}"])("%s has no credentials", (text) => {
  expect(parsePullSecret(text)).toEqual(new Map());
});
