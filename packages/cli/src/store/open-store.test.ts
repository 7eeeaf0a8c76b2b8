import { expect, test } from "vitest";
import { openImageStore } from "./open-store.ts";

test("a folder for images that cannot be made is named, with the way to another", async () => {
  await expect(openImageStore("/proc/xfn-test/store")).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining("cannot keep images in /proc/xfn-test/store: "),
    details: [expect.stringContaining("--cache-dir")],
  });
});
