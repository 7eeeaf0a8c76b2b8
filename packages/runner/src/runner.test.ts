import type { Image, Store } from "@xfn/oci-rootfs";
import { expect, test } from "vitest";
import { createRunner } from "./runner.ts";

test("a runner that was closed while it pulled a module does not run it", async () => {
  const pulled = Promise.withResolvers<Image>();
  const store = { dir: "/nonexistent", image: () => pulled.promise, release: () => undefined };
  const runner = createRunner({ store: store as unknown as Store });
  const call = runner.run("module:v1", new Uint8Array(), { type: "Wasm" });
  const closing = runner.close();
  const config = { architecture: "wasm", config: { Entrypoint: ["/function.wasm"] } };
  pulled.resolve({ name: "module:v1", digest: "sha256:0", config, layers: [] } as unknown as Image);
  await expect(call).rejects.toMatchObject({ code: "Closed" });
  await closing;
});
