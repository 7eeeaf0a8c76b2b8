import { type KeyObject, sign } from "node:crypto";

/** The signature of a content in base64, as cosign reads it. With Ed25519 it is the same in each run. */
export function signed(key: KeyObject, content: Buffer): string {
  return sign(key.asymmetricKeyType === "ed25519" ? null : "sha256", content, key).toString("base64");
}
