// Makes a screenshot small enough to be kept: at most 192 colours, from a palette. Reads what Chromium writes (8 bits, RGB or RGBA).
//
//   node shrink.mjs IN.png OUT.png
import { readFileSync, writeFileSync } from "node:fs";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const kColours = 192;

function chunksOf(png) {
  const chunks = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({ type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

function paeth(a, b, c) {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// Pixels as numbers 0xRRGGBB.
function decode(png) {
  const chunks = chunksOf(png);
  const head = chunks.find((chunk) => chunk.type === "IHDR").data;
  const [width, height, depth, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9]];
  if (depth !== 8 || (kind !== 2 && kind !== 6)) throw new Error("not an RGB picture of 8 bits");
  const size = kind === 2 ? 3 : 4;
  const raw = inflateSync(Buffer.concat(chunks.filter((chunk) => chunk.type === "IDAT").map((chunk) => chunk.data)));
  const stride = width * size;
  const rows = Buffer.alloc(height * stride);
  for (let y = 0; y < height; ++y) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; ++x) {
      const left = x >= size ? rows[y * stride + x - size] : 0;
      const up = y > 0 ? rows[(y - 1) * stride + x] : 0;
      const corner = x >= size && y > 0 ? rows[(y - 1) * stride + x - size] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      rows[y * stride + x] = raw[y * (stride + 1) + 1 + x] + guess;
    }
  }
  const pixels = new Uint32Array(width * height);
  for (let i = 0; i < pixels.length; ++i) pixels[i] = (rows[i * size] << 16) | (rows[i * size + 1] << 8) | rows[i * size + 2];
  return { width, height, pixels };
}

const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

// The commonest colours; a screen has few, and letters have shades between two of them.
function paletteOf(pixels) {
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = [];
  for (const [colour] of [...counts].sort((one, other) => other[1] - one[1])) {
    if (palette.length === kColours) break;
    if (palette.every((other) => distance(colour, other) > 20)) palette.push(colour);
  }
  return palette;
}

function encode({ width, height, pixels }) {
  const palette = paletteOf(pixels);
  const nearest = new Map();
  const indexOf = (colour) => {
    let index = nearest.get(colour);
    if (index === undefined) {
      index = palette.reduce((best, other, at) => (distance(colour, other) < distance(colour, palette[best]) ? at : best), 0);
      nearest.set(colour, index);
    }
    return index;
  };
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; ++y) for (let x = 0; x < width; ++x) rows[y * (width + 1) + 1 + x] = indexOf(pixels[y * width + x]);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk("IHDR", head), chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}

const [from, to] = process.argv.slice(2);
writeFileSync(to, encode(decode(readFileSync(from))));
