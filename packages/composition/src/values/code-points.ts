/** The number of code points of a text, as Kubernetes and CEL count its length. */
export function codePoints(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    const code = text.charCodeAt(at);
    if (code < 0xd8_00 || code > 0xdb_ff) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc_00 && next <= 0xdf_ff) length--;
  }
  return length;
}
