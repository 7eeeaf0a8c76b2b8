import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testImage, writeLayout } from "../../packages/oci-rootfs/testing/layout.ts";
import { file, tarball } from "../../packages/oci-rootfs/testing/tarball.ts";
import { openImageStore } from "../../packages/runner/testing/open-image-store.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

test("xfn-runner --cache-quota refuses an image that is larger", async () => {
  const folder = temporaryFolder();
  const layout = writeLayout(join(folder, "layout"), testImage([tarball([file("run", randomBytes(2_000_000))])]));
  const small = await openImageStore(join(folder, "small"), 1_000_000);
  await expect(small.image(layout)).rejects.toThrow();
  const large = await openImageStore(join(folder, "large"), 100_000_000);
  expect((await large.image(layout)).layers).toHaveLength(1);
});
