import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { type ImageSettings, imageSettings } from "./image-configs.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

const config = (name: string, prefix: string, spec: JsonObject): LiveObject => ({
  apiVersion: "pkg.crossplane.io/v1beta1",
  kind: "ImageConfig",
  metadata: { name, uid: name, resourceVersion: "1" },
  spec: { matchImages: [{ prefix }], ...spec },
});
const settingsOf = (image: string, ...configs: readonly LiveObject[]): ImageSettings => {
  const cache = { get: () => undefined, list: () => configs, byIndex: () => [] };
  const acquire = (): never => {
    throw new TypeError("not needed");
  };
  return imageSettings({ informers: { acquire, peek: () => cache, stop: async () => {} } }, image);
};
const SIGNED = { verification: { provider: "Cosign" } };
const SECRET = { registry: { authentication: { pullSecretRef: { name: "secret" } } } };
const PODS = { runtime: { configRef: { name: "small" } } };
const moved = (prefix: string): JsonObject => ({ rewriteImage: { prefix } });

test.each([
  "registry.example.org/acme/fn:v1.0.0",
  "registry.example.org:443/acme/fn:v1.0.0",
  "REGISTRY.example.org:0443/acme/fn:v1.0.0",
  "registry.example.org:8443/acme/fn:v1.0.0",
  `registry.example.org:443/acme/fn@${DIGEST}`,
])("all settings of the repository apply to %s", (image) => {
  const prefix = "registry.example.org/acme";
  const settings = settingsOf(
    image,
    config("all", prefix, { ...SIGNED, ...SECRET, ...PODS, ...moved("mirror.org/m") }),
  );
  expect(settings).toMatchObject({ verification: { config: "all" }, runtime: { config: "all" } });
  expect(settings.image).toMatch(/^mirror\.org\/m\/fn[:@]/);
  // The pull secret belongs to the image that is pulled.
  expect(settings.pullSecret).toBeUndefined();
  expect(settingsOf(image, config("secret", prefix, SECRET))).toMatchObject({ pullSecret: "secret" });
});

test.each(["registry.example.org.evil.com/acme/fn:v1", "registry.example.org/acmevil/fn:v1", "acme/fn:v1"])(
  "no setting of another repository applies to %s",
  (image) => {
    const all = { ...SIGNED, ...SECRET, ...PODS, ...moved("mirror.org/m") };
    expect(settingsOf(image, config("all", "registry.example.org/acme", all))).toMatchObject({
      pullSecret: undefined,
      verification: undefined,
      runtime: undefined,
      applied: null,
    });
  },
);

test.each([
  ["registry.example.org:443/acme/fn", "registry.example.org/acme/fn"],
  ["Registry.Example.Org/acme/fn:v1", "registry.example.org/acme/fn:v1"],
  [`index.docker.io/busybox:1@${DIGEST}`, `docker.io/library/busybox:1@${DIGEST}`],
])("%s is pulled as %s: what is matched is what is pulled", (image, pulled) => {
  expect(settingsOf(image).image).toBe(pulled);
});

test("a rewritten name is matched in its canonical form too", () => {
  const image = "registry.example.org/acme/fn:v1";
  const settings = settingsOf(
    image,
    config("moved", "registry.example.org", moved("Mirror.EXAMPLE.org:443/hub")),
    config("signed", "mirror.example.org/hub/acme", SIGNED),
    config("secret", "mirror.example.org:443", SECRET),
  );
  expect(settings).toMatchObject({
    image: "mirror.example.org/hub/acme/fn:v1",
    verification: { config: "signed" },
    pullSecret: "secret",
  });
});

test("the longest prefix wins, however the prefixes are spelled", () => {
  const image = "registry.example.org/acme/fn:v1";
  const settings = settingsOf(
    image,
    config("a", "https://REGISTRY.example.org:443//", SIGNED),
    config("b", "registry.example.org/acme", SIGNED),
  );
  expect(settings.verification?.config).toBe("b");
});

test("a layout has no settings, and an unreadable name stays as it is", () => {
  const all = config("all", "docker.io", { ...SIGNED, ...moved("mirror.org") });
  for (const image of ["oci:/srv/fn", "user@registry.example.org/fn", "registry.example.org./acme/fn"])
    expect(settingsOf(image, all)).toMatchObject({ image, verification: undefined, applied: null });
});
