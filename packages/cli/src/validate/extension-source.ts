/** Whether an extension is a file or a folder, and no package or cluster. */
export function isFileSource(source: string): boolean {
  return (
    source !== "" &&
    !source.startsWith("cluster:") &&
    !source.startsWith("oci:") &&
    !source.startsWith("xpkg:") &&
    !source.endsWith(".xpkg")
  );
}
