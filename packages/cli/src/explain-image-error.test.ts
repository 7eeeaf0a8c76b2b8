import { ImageError } from "@xfn/oci-rootfs";
import { expect, test } from "vitest";
import { explainImageError } from "./explain-image-error.ts";

function wrapped(cause: ImageError): Error {
  return new Error("step failed", { cause: new Error("run failed", { cause }) });
}

test("a name without a registry that is found nowhere: how to make it", () => {
  const error = explainImageError(
    wrapped(new ImageError("RegistryUnavailable", "no network", { image: "my/function:v1" })),
  );
  expect(error).toMatchObject({ exitCode: 1, details: [expect.stringContaining("xfn build DIR -t my/function:v1")] });
});

test.each(["registry.example.org/f:v1", "oci:/layout", "localhost:5000/f"])("%s cannot be made by a build", (image) => {
  const error = wrapped(new ImageError("NotFound", "no", { image }));
  expect(explainImageError(error)).toBe(error);
});

test("a name that cannot be read is wrong input", () => {
  expect(explainImageError(wrapped(new ImageError("InvalidReference", "no", { image: "A/B" })))).toMatchObject({
    exitCode: 2,
  });
});

test("other errors stay as they are", () => {
  const error = wrapped(new ImageError("DigestMismatch", "no", { image: "f" }));
  expect(explainImageError(error)).toBe(error);
  expect(explainImageError("text")).toBe("text");
});
