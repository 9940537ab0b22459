"""RELEASED. Junction trees and the distribution of greatest entropy."""
