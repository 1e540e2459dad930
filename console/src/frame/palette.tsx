export function openPalette(): void {}

export function Palette() {
  return null;
}
