import { afterEach, expect, test } from "vitest";
import { hostError } from "./host-command.ts";

const { platform } = process;
afterEach(() => void Object.defineProperty(process, "platform", { value: platform }));

test.each([
  ["linux", /^this host refuses the namespaces that a sandbox needs: no unshare\. `xfn doctor`/],
  ["darwin", /^functions in containers need Linux, and this is darwin\. `xfn doctor`/],
])("without namespaces, %s has its own reason", (value, message) => {
  Object.defineProperty(process, "platform", { value });
  expect(hostError("containers", "no unshare").message).toMatch(message);
});
