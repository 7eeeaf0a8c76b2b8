import { ImageError } from "@xfn/oci-rootfs";
import { expect, test } from "vitest";
import { describeFailure } from "./call-outcome.ts";

test.each([
  [new ImageError("NotFound", "no such tag", { image: "a/b:v1" }), "function a/b:v1 (step one): no such tag"],
  [
    new ImageError("DigestMismatch", "the content differs", { image: "a/b:v1", layer: 0 }),
    "function a/b:v1 (step one): layer 0: the content differs",
  ],
  [new ImageError("NotFound", "gone", { image: "a/b:v12" }), "function a/b:v1 (step one): a/b:v12: gone"],
  [new ImageError("RegistryUnavailable", "no answer"), "function a/b:v1 (step one): no answer"],
])("an error about an image names it once: %s", (error, message) => {
  expect(describeFailure(error, "a/b:v1", { step: "one" }).message).toBe(message);
});
