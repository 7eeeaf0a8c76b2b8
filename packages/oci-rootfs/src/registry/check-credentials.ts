import { ImageError } from "../base/errors.ts";
import type { RegistryOptions } from "./options.ts";
import { RegistrySession } from "./session.ts";

/**
 * Checks that a registry accepts credentials: requests the root of its API, as `docker login` does (OCI
 * distribution-spec, "Determining Support").
 *
 * @param registry as image names spell it
 * @throws ImageError Unauthorized, RegistryUnavailable, UnsafeAddress
 */
export async function checkCredentials(
  registry: string,
  auth: { readonly username: string; readonly password: string },
  options: RegistryOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const session = new RegistrySession(registry, "", auth, options);
  try {
    const path = new URL("/v2/", session.transport.registry);
    const { signal } = options;
    const response = await session.request({
      method: "GET",
      path,
      headers: {},
      expect: [200],
      what: "login",
      scopes: [],
      signal,
    });
    await response.body.dump();
  } catch (error) {
    // Its message names the registry, which is not an image.
    throw ImageError.from(error);
  } finally {
    await session.transport.close();
  }
}
