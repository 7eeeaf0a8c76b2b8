import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { connect } from "node:tls";
import { ImageError } from "@xfn/oci-rootfs";
import { expect, test } from "vitest";
import { explainImageError, explainRegistryError } from "./explain-image-error.ts";

function wrapped(cause: ImageError): Error {
  return new Error("step failed", { cause: new Error("run failed", { cause }) });
}

test("an unknown name without a registry gets a hint how to build it", () => {
  const error = explainImageError(
    wrapped(new ImageError("RegistryUnavailable", "no network", { image: "my/function:v1" })),
  );
  expect(error).toMatchObject({ exitCode: 1, details: [expect.stringContaining("xfn build DIR -t my/function:v1")] });
});

test("a name without a registry that is refused gets a hint how to log in too", () => {
  const error = explainImageError(wrapped(new ImageError("Unauthorized", "no", { image: "my/function:v1" })));
  const hints = [expect.stringContaining("xfn build DIR"), expect.stringContaining("docker login docker.io")];
  expect(error).toMatchObject({ exitCode: 1, details: hints });
});

test.each(["registry.example.org/f:v1", "oci:/layout", "localhost:5000/f"])(
  "%s gets no hint about a build",
  (image) => {
    const error = wrapped(new ImageError("NotFound", "no", { image }));
    expect(explainImageError(error)).toBe(error);
  },
);

test("an error of a login has the hint for its registry, and none about images or another login", () => {
  const cause = Object.assign(new Error("wrong version"), { code: "EPROTO" });
  const noTls = new ImageError("RegistryUnavailable", "r.example:5000 sent no TLS", { cause });
  expect(explainRegistryError(noTls, "r.example:5000")).toMatchObject({
    details: [expect.stringContaining("--insecure-registry r.example:5000")],
  });
  const refused = new ImageError("Unauthorized", "r.example:5000 returned 401");
  expect(explainRegistryError(refused, "r.example:5000")).toBe(refused);
});

test("an invalid name is wrong input", () => {
  expect(explainImageError(wrapped(new ImageError("InvalidReference", "no", { image: "A/B" })))).toMatchObject({
    code: "Input",
  });
});

test.each([
  ["Unauthorized", undefined, "docker login r.example:5000"],
  ["RegistryUnavailable", "ERR_SSL_WRONG_VERSION_NUMBER", "--insecure-registry r.example:5000"],
  ["RegistryUnavailable", "DEPTH_ZERO_SELF_SIGNED_CERT", "--registry-ca"],
  ["RegistryUnavailable", "SELF_SIGNED_CERT_IN_CHAIN", "NODE_EXTRA_CA_CERTS"],
] as const)("a registry that refuses us (%s, %s) gets a hint", (code, system, way) => {
  const cause = Object.assign(new Error("no"), { code: system });
  const error = explainImageError(wrapped(new ImageError(code, "no", { image: "r.example:5000/f:v1", cause })));
  expect(error).toMatchObject({ exitCode: 1, details: [expect.stringContaining(way)] });
});

test("returns other errors unchanged", () => {
  const error = wrapped(new ImageError("DigestMismatch", "no", { image: "f" }));
  expect(explainImageError(error)).toBe(error);
  expect(explainImageError("text")).toBe("text");
});

test("a registry on this machine that closes on TLS gets a hint how to use http", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cause = await new Promise<Error>((resolve) => connect(port, "127.0.0.1").on("error", resolve));
  server.close();
  const image = `localhost:${port}/f:v1`;
  const error = explainImageError(new ImageError("RegistryUnavailable", "cannot connect", { image, cause }));
  expect(error).toMatchObject({ details: [expect.stringContaining(`--insecure-registry localhost:${port}`)] });
});
