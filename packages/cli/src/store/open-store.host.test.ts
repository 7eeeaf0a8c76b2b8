import { expect, test } from "vitest";
import { openImageStore } from "./open-store.ts";

test("reports a folder that cannot be created, and how to choose another one", async () => {
  await expect(openImageStore("/proc/xfn-test/store")).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining("cannot store images in /proc/xfn-test/store: "),
    details: [expect.stringContaining("--cache-dir")],
  });
});
