import { expect, test } from "vitest";
import { dockerAuths } from "./docker-auths.ts";

const find = (auths: object, image: string): unknown => dockerAuths(JSON.stringify({ auths })).find(image);
const ADA = { username: "ada", password: "p" };

test.each([
  ["registry.example.org/team/fn:v1", "registry.example.org"],
  ["registry.example.org/team/fn@sha256:0", "https://registry.example.org/v2/"],
  ["registry.example.org:5000/fn", "registry.example.org:5000"],
  ["localhost/fn", "localhost"],
  ["REGISTRY.example.org/fn", "registry.example.org"],
  ["fn", "https://index.docker.io/v1/"],
  ["team/fn:v1", "docker.io"],
  ["docker.io/team/fn", "registry-1.docker.io"],
  ["registry.example.org/team/fn", "registry.example.org/team"],
  ["one.registry.example.org/fn", "*.registry.example.org"],
  ["abcabc.example.org/fn", "a*c*c.example.org"],
  ["eu1-docker.example.org:5000/team/fn", "https://eu?-*.example.org:5000/team"],
])("%s has the credentials of %s", (image, key) => {
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
  ["abcab.example.org/fn", "a*c*c.example.org"],
])("%s has none of those of %s", (image, key) => {
  expect(find({ [key]: ADA }, image)).toBeUndefined();
});

test("the longest path counts", () => {
  const auths = { "r.example": ADA, "r.example/team": { registrytoken: "t" }, "r.example/team/x": { auth: "x" } };
  expect(find(auths, "r.example/team/fn")).toEqual({ registryToken: "t" });
  expect(find(auths, "r.example/other/fn")).toEqual(ADA);
  expect(find({ "*.example": { auth: "x" }, "r.example": ADA, "r.*": { auth: "y" } }, "r.example/fn")).toEqual(ADA);
});

test("the old form has auths alone; what is no configuration holds none", () => {
  expect(dockerAuths(JSON.stringify({ "r.example": ADA }), true).find("r.example/fn")).toEqual(ADA);
  for (const text of ["", "not JSON: secret", "[]", '{"auths":5}', '{"auths":{"r.example":{}}}', "null"])
    expect(dockerAuths(text).find("r.example/fn")).toBeUndefined();
});
