/** `NAME@DIGEST`, which commands print for an image. A name that has the digest stays as it is. */
export function nameWithDigest({ name, digest }: { readonly name: string; readonly digest: string }): string {
  return name.endsWith(`@${digest}`) ? name : `${name}@${digest}`;
}
